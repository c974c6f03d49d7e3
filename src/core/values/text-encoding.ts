import { isAscii, isUtf8 } from 'node:buffer';
import { AppError } from '../http/errors.ts';

/** The charsets that a caller can declare. ISO 8859-1 is read as Windows-1252, its superset. */
const CHARSETS = {
  'utf-8': 'utf-8',
  'utf-16': 'utf-16le',
  'utf-16le': 'utf-16le',
  'utf-16be': 'utf-16be',
  'windows-1252': 'windows-1252',
  'iso-8859-1': 'windows-1252',
} as const;
type Encoding = (typeof CHARSETS)[keyof typeof CHARSETS];
type Charset = keyof typeof CHARSETS;

/**
 * Decodes a text file while it arrives. Uses the declared charset, if there is one. Otherwise a byte order mark (UTF-8 or UTF-16)
 * or a zero byte at the start (UTF-16) shows the encoding. A file without these is UTF-8 if all its bytes are valid UTF-8. It
 * is Windows-1252 if all its bytes are defined in Windows-1252, and no sequence of them is a multi-byte UTF-8 character. A file
 * that is neither is refused: after a wrong guess the service could post or compare payments with wrong text. The packages chardet
 * and jschardet would guess, and iconv-lite would replace invalid bytes.
 * @param declared the charset of the Content-Type, if it has one.
 * @returns the text without its byte order mark, in chunks of whole characters.
 * @throws AppError VALIDATION_ERROR for an unknown charset, for bytes that are invalid in the encoding, and for a file whose
 *   encoding is ambiguous.
 */
export async function* decodeText(bytes: AsyncIterable<Buffer>, declared?: string): AsyncGenerator<string> {
  let decode = declared === undefined ? undefined : decoderOf(encodingNamed(declared), 'is declared as');
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    pending = Buffer.concat([pending, chunk]);
    // The longest byte order mark has three bytes.
    if (!decode && pending.length < 3) continue;
    decode ??= decoderByMark(pending) ?? detectingDecoder();
    const { text, rest } = decode(pending, false);
    pending = rest;
    yield text;
  }
  decode ??= detectingDecoder();
  yield decode(pending, true).text;
}

/** Decodes whole characters. `rest` is an incomplete character, which the caller puts before the next bytes. */
type Decoder = (bytes: Buffer, isLast: boolean) => { text: string; rest: Buffer };

const NOTHING = Buffer.alloc(0);

function encodingNamed(name: string): Encoding {
  const charset = name.trim().toLowerCase();
  if (Object.hasOwn(CHARSETS, charset)) return CHARSETS[charset as Charset];
  throw refused(
    `The charset ${name} is not supported. Use one of ${Object.keys(CHARSETS).join(', ')}, or omit it.`,
  );
}

function decoderByMark(start: Buffer): Decoder | undefined {
  const [first, second, third] = start;
  const how = 'starts like';
  if (first === 0xef && second === 0xbb && third === 0xbf) return decoderOf('utf-8', how);
  // A zero byte at the start means UTF-16 without a mark, because every file starts with an ASCII character.
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return decoderOf('utf-16le', how);
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return decoderOf('utf-16be', how);
  return undefined;
}

/** @param how - how the encoding is known, for the error message. */
function decoderOf(encoding: Encoding, how: 'is declared as' | 'starts like'): Decoder {
  if (encoding === 'windows-1252') return (bytes) => ({ text: fromWindows1252(bytes), rest: NOTHING });
  const decoder = new TextDecoder(encoding, { fatal: true }); // drops a byte order mark
  return (bytes, isLast) => {
    try {
      return { text: decoder.decode(bytes, { stream: !isLast }), rest: NOTHING };
    } catch {
      throw refused(`The file ${how} ${encoding}, but is not valid ${encoding}. Export it as UTF-8.`);
    }
  };
}

/** Detects UTF-8 or Windows-1252 by the first bytes that are not ASCII. Refuses a file with characters of both. */
function detectingDecoder(): Decoder {
  let found: 'utf-8' | 'windows-1252' | undefined;
  return (bytes, isLast) => {
    const end = isLast ? bytes.length : endOfWholeCharacters(bytes);
    const part = bytes.subarray(0, end);
    const rest = bytes.subarray(end);
    if (isAscii(part)) return { text: part.toString('latin1'), rest };
    const encoding = encodingOf(part);
    if (encoding === undefined || (found !== undefined && found !== encoding)) throw ambiguous();
    found = encoding;
    return { text: encoding === 'utf-8' ? part.toString('utf8') : fromWindows1252(part), rest };
  };
}

function encodingOf(bytes: Buffer): 'utf-8' | 'windows-1252' | undefined {
  if (isUtf8(bytes)) return 'utf-8';
  const text = bytes.toString('latin1');
  return UTF8_SEQUENCE.test(text) || UNDEFINED_IN_WINDOWS_1252.test(text) ? undefined : 'windows-1252';
}

const UTF8_SEQUENCE = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/;
const UNDEFINED_IN_WINDOWS_1252 = /[\x81\x8d\x8f\x90\x9d]/;

/** The index of an incomplete UTF-8 character at the end, or the length of the bytes if the last character is complete. */
function endOfWholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc2) {
      const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      return length > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** The characters of the bytes 0x80 to 0x9f in Windows-1252. Some versions of Node decode them to control characters. */
const FROM_0X80 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

function fromWindows1252(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80] ?? control);
}

function ambiguous(): AppError {
  return refused(
    'The encoding of the file is ambiguous: it is not UTF-8, and not certainly Windows-1252. Export it as "CSV UTF-8", or ' +
      'declare its encoding: Content-Type: text/csv; charset=windows-1252.',
  );
}

function refused(message: string): AppError {
  return new AppError('VALIDATION_ERROR', message, { details: { fields: [{ path: 'body', message }] } });
}
