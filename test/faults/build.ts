import { execFileSync } from 'node:child_process';

/** These tests break the built program. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
