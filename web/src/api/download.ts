import { sendSignedIn } from './client.ts';

/** Downloads a file from the API with the access token, and saves it. @throws the error body if the service refuses. */
export async function download(path: string): Promise<void> {
  const response = await sendSignedIn(new Request(new URL(path, location.origin)));
  if (!response.ok) throw await response.json();
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
  saveFile(name ?? '', await response.blob());
}

export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
