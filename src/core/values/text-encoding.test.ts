import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROPERTY_RUNS } from '../../../test/support/property-runs.ts';
import { decodeText } from './text-encoding.ts';

async function* inPieces(bytes: Buffer, size: number) {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

/** Decodes the bytes in chunks of several sizes, and checks that the text is always the same. */
async function decoded(bytes: Buffer, declared?: string): Promise<string> {
  const texts = new Set<string>();
  for (const size of [1, 2, 3, 5, 1_000]) {
    let text = '';
    for await (const piece of decodeText(inPieces(bytes, size), declared)) text += piece;
    texts.add(text);
  }
  expect(texts.size).toBe(1);
  return [...texts][0] ?? '';
}

const NAME = 'Zoë Müller, Peña; “d’Or” 5 €';
/** NAME in Windows-1252. */
const IN_1252 = Buffer.concat([
  Buffer.from('Zo\xeb M\xfcller, Pe\xf1a; ', 'latin1'),
  Buffer.from([0x93, 0x64, 0x92, 0x4f, 0x72, 0x94, 0x20, 0x35, 0x20, 0x80]),
]);
const bigEndian = (text: string) => Buffer.from(text, 'utf16le').swap16();

describe('the text of a file', () => {
  it.each<[string, Buffer]>([
    ['UTF-8', Buffer.from(NAME)],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${NAME}`)],
    ['Windows-1252', IN_1252],
    ['UTF-16, little endian, with a byte order mark', Buffer.from(`\ufeff${NAME}`, 'utf16le')],
    ['UTF-16, big endian, with a byte order mark', bigEndian(`\ufeff${NAME}`)],
    ['UTF-16, little endian, without a mark', Buffer.from(NAME, 'utf16le')],
    ['UTF-16, big endian, without a mark', bigEndian(NAME)],
  ])('is decoded from %s', async (_encoding, bytes) => {
    expect(await decoded(bytes)).toBe(NAME);
  });

  it('is decoded with the declared charset', async () => {
    expect(await decoded(Buffer.from('Zo\xc3\xab', 'latin1'), 'ISO-8859-1')).toBe('ZoÃ«');
    expect(await decoded(Buffer.from(`\ufeff${NAME}`), 'UTF-8')).toBe(NAME);
    expect(await decoded(bigEndian(NAME), 'utf-16be')).toBe(NAME);
    await expect(decoded(IN_1252, 'utf-8')).rejects.toThrow('declared as utf-8, but is not valid utf-8');
    await expect(decoded(IN_1252, 'koi8-r')).rejects.toThrow('koi8-r is not supported. Use one of utf-8');
  });

  it.each<[string, Buffer]>([
    ['has letters in UTF-8, then in Windows-1252', Buffer.concat([Buffer.from('Zoë\n'), IN_1252])],
    ['has letters in Windows-1252, then in UTF-8', Buffer.concat([IN_1252, Buffer.from('\nZoë')])],
    ['ends within a letter, after a complete letter in UTF-8', Buffer.from('Müller, Zoë').subarray(0, -1)],
    ['has a byte that is no character in Windows-1252', Buffer.from([0x5a, 0x8d, 0x5a])],
  ])('is refused when it %s', async (_why, bytes) => {
    await expect(decoded(bytes)).rejects.toThrow('The encoding of the file is ambiguous');
  });

  it.each<[string, Buffer]>([
    ['utf-8', Buffer.concat([Buffer.from('\ufeff'), IN_1252])],
    ['utf-16le', Buffer.from('a\0\0\xd8b\0', 'latin1')],
    ['utf-16be', Buffer.from('\xfe\xff\xd8\0\0b', 'latin1')],
  ])('is refused when it starts like %s, but is not valid', async (encoding, bytes) => {
    const message = `The file starts like ${encoding}, but is not valid ${encoding}.`;
    await expect(decoded(bytes)).rejects.toThrow(message);
  });

  it('is the same after encoding in UTF-8 and UTF-16, in chunks of any size', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1 }).map((one) => `a,${one}`);
    await fc.assert(
      fc.asyncProperty(text, async (one) => {
        expect(await decoded(Buffer.from(one))).toBe(one);
        expect(await decoded(Buffer.from(`\ufeff${one}`, 'utf16le'))).toBe(one);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});
