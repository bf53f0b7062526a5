/** The package has no types. */
declare module '@usebruno/lang' {
  const bruno: { bruToJsonV2(text: string): unknown };
  export default bruno;
}
