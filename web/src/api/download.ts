import { sendSignedIn } from './client.ts';

/** What a PDF shows as �, because no font has it. */
export interface Unprintable {
  characters: string[];
  fields: string[];
}

/**
 * Downloads a file from the API with the access token, and saves it. @throws the error body if the service refuses.
 * @param body - the body of a POST. Default: a GET.
 */
export async function download(path: string, body?: object): Promise<Unprintable | undefined> {
  const response = await fetchFile(path, body);
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
  saveFile(name ?? '', await response.blob());
  return readUnprintable(response.headers.get('unprintable-characters'));
}

/** Gets a file from the API. @throws the error body if the service refuses. */
export async function fetchFile(path: string, body?: object): Promise<Response> {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await sendSignedIn(new Request(new URL(path, location.origin), body && post));
  if (!response.ok) throw await response.json();
  return response;
}

/** The header is a dictionary of RFC 9651, such as `count=1, characters=(U+6F22), fields=(customer.name)`. */
function readUnprintable(header: string | null): Unprintable | undefined {
  if (header === null) return undefined;
  const listed = (name: string) => new RegExp(`${name}=\\(([^)]*)\\)`).exec(header)?.[1]?.split(' ') ?? [];
  return { characters: listed('characters'), fields: listed('fields') };
}

function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
