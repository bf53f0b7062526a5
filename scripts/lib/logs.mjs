import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} directory @param {string} name */
const logFileOf = (directory, name) => join(directory, `${name}.log`);

/** How much of the existing log is shown before new lines. */
const LAST_BYTES = 64 * 1024;
const INTERVAL_MS = 200;
const NEWLINE = 0x0a;

/**
 * Reads the lines appended to a file. A file that has become shorter is read from its start.
 * @param {string} file
 * @returns {() => string[]} the complete lines since the last call; on the first call, the last lines of the file
 */
function createTail(file) {
  let position = -1;
  return () => {
    if (!existsSync(file)) return [];
    const descriptor = openSync(file, 'r');
    try {
      const { size } = fstatSync(descriptor);
      const isCut = position < 0 && size > LAST_BYTES;
      if (position < 0) position = Math.max(0, size - LAST_BYTES);
      if (size < position) position = 0;
      const chunk = Buffer.alloc(size - position);
      readSync(descriptor, chunk, 0, chunk.length, position);
      // An incomplete line is read again.
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      position += end;
      const lines = chunk.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
      return isCut ? lines.slice(1) : lines;
    } finally {
      closeSync(descriptor);
    }
  };
}

/** The time of a log line; undefined for a line that no process of the product wrote. @param {string} line */
const timeOf = (line) => /"time":"([^"]*)"/.exec(line)?.[1];

/**
 * The new lines of several logs, ordered by time. A line without a time stays with the line before it.
 * @param {Map<string, () => string[]>} tails
 */
function newLines(tails) {
  const lines = [...tails].flatMap(([name, read]) => {
    let time = '';
    return read().map((line) => {
      time = timeOf(line) ?? time;
      return { name, line, time };
    });
  });
  return lines.sort((one, other) => (one.time < other.time ? -1 : Number(one.time > other.time)));
}

/**
 * Shows logs in readable form: the end of each log, then new lines.
 * @param {string} directory
 * @param {string[]} names
 * @param {{ write: (line: string) => void }} options
 * @returns {Promise<() => void>} shows the remaining new lines, then stops
 */
export async function followLogs(directory, names, { write }) {
  // Imported here because this file is loaded before packages are installed.
  const { prettyFactory } = await import('pino-pretty');
  const readable = prettyFactory({
    colorize: process.stdout.isTTY === true,
    ignore: 'service',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
  const width = Math.max(...names.map(({ length }) => length));
  const prefixOf = (/** @type {string} */ name) => (names.length > 1 ? `${name.padEnd(width)} | ` : '');
  const tails = new Map(names.map((name) => [name, createTail(logFileOf(directory, name))]));
  const show = () => {
    for (const { name, line } of newLines(tails)) write(prefixOf(name) + readable(line).trimEnd());
  };
  show();
  const timer = setInterval(show, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    show();
  };
}
