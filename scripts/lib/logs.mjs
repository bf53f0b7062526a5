import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} directory @param {string} name */
export const logFileOf = (directory, name) => join(directory, `${name}.log`);

/** How much of the end of a log is shown, before what follows. */
const LAST_BYTES = 64 * 1024;
const INTERVAL_MS = 200;
const NEWLINE = 0x0a;

/**
 * Reads what is appended to a file. One that has become shorter has been written anew.
 * @param {string} file
 * @returns {() => string[]} the whole lines since the last call; at first those at its end
 */
function createTail(file) {
  let position = -1;
  let rest = Buffer.alloc(0);
  return () => {
    if (!existsSync(file)) return [];
    const descriptor = openSync(file, 'r');
    try {
      const { size } = fstatSync(descriptor);
      const isFirst = position < 0;
      if (isFirst) position = Math.max(0, size - LAST_BYTES);
      if (size < position) [position, rest] = [0, Buffer.alloc(0)];
      const isCut = isFirst && position > 0;
      const added = Buffer.alloc(size - position);
      position += readSync(descriptor, added, 0, added.length, position);
      const bytes = Buffer.concat([rest, added]);
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      rest = bytes.subarray(end);
      const lines = bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
      return isCut ? lines.slice(1) : lines;
    } finally {
      closeSync(descriptor);
    }
  };
}

/** Time of a line of a process; a line of anything else has none. @param {string} line */
const timeOf = (line) => /"time":"([^"]*)"/.exec(line)?.[1];

/**
 * The new lines of several logs, by their times. A line without one belongs to the line before it.
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
 * Shows logs in a readable form: the end of each, and what is added.
 * @param {string} directory
 * @param {string[]} names
 * @param {{ write: (line: string) => void }} options
 * @returns {Promise<() => void>} shows what is new, and no more after that
 */
export async function followLogs(directory, names, { write }) {
  // A package: this file is loaded before they are installed.
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
