/** The counts and the summary of `npm test`. */

/** Quotes a word for a POSIX shell. @param {string} word */
const quoted = (word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** Escapes a title, because jest expects a regular expression. @param {string} title */
const pattern = (title) => title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** @param {import('./jest/reporter.mjs').FileResult} result @param {string} command */
function rerunsOf({ project, file, failed }, command) {
  const whole = `${command} --only ${project} ${file}`;
  return failed.length === 0 ? [whole] : failed.map((title) => `${whole} -t ${quoted(pattern(title))}`);
}

export function createSummary() {
  let [passed, failed] = [0, 0];
  /** @type {string[]} */
  const reruns = [];
  return {
    /** The command that reruns failed tests. */
    rerunBy: 'npm test --',
    get failed() {
      return failed;
    },
    /** @param {boolean} isOk @param {string} [rerun] arguments that rerun it */
    count(isOk, rerun) {
      if (isOk) passed += 1;
      else failed += 1;
      if (!isOk && rerun) reruns.push(`${this.rerunBy} ${rerun}`);
    },
    /** @param {import('./jest/reporter.mjs').JestResult} result */
    add(result) {
      passed += result.passed;
      failed += result.failed;
      const bad = result.files.filter((file) => !file.loaded || file.failed.length > 0);
      reruns.push(...bad.flatMap((file) => rerunsOf(file, this.rerunBy)));
    },
    lines() {
      return [
        ...(reruns.length > 0 ? ['', 'Failed; run again with:', ...reruns.map((line) => `  ${line}`)] : []),
        '',
        `${passed} passed, ${failed} failed`,
      ];
    },
  };
}
