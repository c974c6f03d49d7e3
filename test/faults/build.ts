import { run } from '../support/processes.ts';

export async function setup(): Promise<void> {
  await run('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
