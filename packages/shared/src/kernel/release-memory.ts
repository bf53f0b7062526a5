/**
 * Frees the memory of `piece` at once; afterwards it is empty. The garbage collector does not count all of it, and would let
 * tens of mebibytes accumulate. Only for a piece that is its whole ArrayBuffer: no other buffer shares its memory. Nothing
 * may still read it, a write to a socket or a file included.
 */
export const releaseMemory = ({ buffer, byteLength }: Buffer): void => {
  // An empty piece has nothing to free, and may be one that its library uses again and again.
  const isWhole = byteLength > 0 && buffer.byteLength === byteLength;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
};
