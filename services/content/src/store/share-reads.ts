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
