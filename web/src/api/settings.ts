import type { Settings } from './paths.ts';
import { isErrorBody } from './problem.ts';
import { send } from './send.ts';

let loaded: Settings | undefined;

/** Called once, before anything is shown. */
export async function loadSettings(): Promise<void> {
  const response = await send(new Request(new URL('/api/settings', location.origin)));
  const answer = (await response.json()) as { data: Settings };
  if (isErrorBody(answer)) throw answer;
  loaded = answer.data;
}

export function settings(): Settings {
  if (!loaded) throw new Error('The settings are not loaded.');
  return loaded;
}
