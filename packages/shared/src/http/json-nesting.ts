export const MAX_NESTING = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}`. */
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * Whether lists and objects of `json` are nested deeper than 32. Parsing them takes far longer than parsing other JSON of the
 * same size. Brackets inside strings are ignored. For malformed JSON, the result is about the part before the mistake.
 */
export const isNestedTooDeeply = (json: string): boolean => {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isInString) {
      // The character after a backslash does not end the string.
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (OPENING.has(code)) {
      depth += 1;
      if (depth > MAX_NESTING) return true;
    } else if (CLOSING.has(code)) depth -= 1;
  }
  return false;
};
