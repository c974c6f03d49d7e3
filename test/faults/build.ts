import { execFileSync } from 'node:child_process';

/** The built program is what these tests break. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
