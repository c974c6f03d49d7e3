import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../src/core/package-root.ts';

/** The protection that the files for operators give. test/acceptance/deploy.test.ts runs them, if the programs are installed. */

const linesOf = (name: string) =>
  readFileSync(join(PACKAGE_ROOT, name), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');

describe('the container files', () => {
  it('contain no settings with secrets', () => {
    expect(linesOf('.dockerignore')).toEqual(expect.arrayContaining(['.env', '.env.*', 'data']));
  });

  it('publish ports only on the loopback interface', () => {
    const ports = linesOf('compose.yaml').filter((line) => line.startsWith('ports:'));
    expect(ports).toHaveLength(2);
    for (const line of ports) expect(line).toMatch(/^ports: \["127\.0\.0\.1:\d+:8080"\]$/);
  });
});

describe('deploy/nginx.conf', () => {
  const lines = linesOf('deploy/nginx.conf');
  const valuesOf = (name: string) => lines.filter((line) => line.startsWith(`${name} `));

  it('writes no query string to a log, because it can contain the secret of the provider', () => {
    expect(lines.join(' ').match(/log_format ams [^;]*/)?.[0]).not.toMatch(
      /\$(request|request_uri|args|query_string)\b/,
    );
    const servers = lines.filter((line) => line === 'server {').length;
    expect(valuesOf('access_log')).toEqual(
      Array(servers).fill('access_log /var/log/nginx/ams-access.log ams;'),
    );
    expect(valuesOf('error_log')).toEqual(
      Array(servers).fill('error_log /var/log/nginx/ams-error.log crit;'),
    );
  });

  it('does not publish the metrics, and redirects plain HTTP to TLS', () => {
    expect(lines[lines.indexOf('location = /metrics {') + 1]).toBe('return 404;');
    expect(lines.slice(lines.indexOf('listen 80;')).find((line) => line.startsWith('return'))).toBe(
      'return 301 https://$host$request_uri;',
    );
  });

  it('sends the address of the caller, and sends no POST a second time', () => {
    expect(valuesOf('proxy_set_header')).toContain(
      'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    );
    expect(valuesOf('proxy_next_upstream')).toEqual(['proxy_next_upstream error timeout;']);
  });
});

describe('deploy/ams.service', () => {
  it('keeps the data in a folder of the service, which nobody else can read, and stops the service before its database', () => {
    expect(linesOf('deploy/ams.service')).toEqual(
      expect.arrayContaining([
        'Environment=NODE_ENV=production DATA_DIR=/var/lib/ams/data',
        'StateDirectory=ams',
        'StateDirectoryMode=0700',
        'UMask=0077',
        'KillMode=mixed',
      ]),
    );
  });
});
