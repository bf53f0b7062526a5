/**
 * Calls that arrive while a read is running share the next one. A read begins after all its calls, so that each gets an
 * answer that is as new as its call.
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

/** The same for reads by ids: the shared one asks for the ids of all its calls, and its answer may have rows that a call did not ask for. */
export const shareReadsById = <Row>(
  read: (ids: readonly number[]) => Promise<ReadonlyMap<number, Row>>,
): ((ids: readonly number[]) => Promise<ReadonlyMap<number, Row>>) => {
  const wanted = new Set<number>();
  const readWanted = shareReads(() => {
    const ids = [...wanted];
    wanted.clear();
    return read(ids);
  });
  return (ids) => {
    for (const id of ids) wanted.add(id);
    return readWanted();
  };
};
