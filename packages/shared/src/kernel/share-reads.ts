/**
 * Calls that arrive while a read is running share the next one. A read begins after all calls that it serves,
 * so each result is at least as new as its call.
 */
export const shareReads = <Answer>(read: () => Promise<Answer>): (() => Promise<Answer>) => {
  let running: Promise<unknown> | undefined;
  let next: Promise<Answer> | undefined;
  const start = (): Promise<Answer> => {
    next = undefined;
    const answer = read();
    const ended = answer
      .catch(() => undefined)
      .then(() => {
        if (running === ended) running = undefined;
      });
    running = ended;
    return answer;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running.then(start);
    return next;
  };
};

/**
 * {@link shareReads} for reads by ids. The shared read requests the ids of all calls; its result may have
 * rows of other calls.
 */
export const shareReadsById = <Row>(
  read: (ids: readonly number[]) => Promise<ReadonlyMap<number, Row>>,
): ((ids: readonly number[]) => Promise<ReadonlyMap<number, Row>>) => {
  const pendingIds = new Set<number>();
  const readPending = shareReads(() => {
    const ids = [...pendingIds];
    pendingIds.clear();
    return read(ids);
  });
  return (ids) => {
    for (const id of ids) pendingIds.add(id);
    return readPending();
  };
};
