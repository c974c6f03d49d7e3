import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, waitUntilAnswering } from './programs.mjs';

const NGINX = process.env.BENCH_NGINX ?? '/usr/sbin/nginx';

/**
 * Starts nginx with the proxy headers of deploy/nginx.conf. Its files are in the scratch folder. For each group of instances,
 * nginx listens on one address, and sends each call to the next instance of the group.
 *
 * @param groups - for each group, the ports of its instances.
 * @returns the program, and the address of each group.
 */
export async function startNginx({ programs, scratch, groups }) {
  const ports = [];
  for (const _group of groups) ports.push(await freePort());
  const file = join(scratch, 'nginx.conf');
  writeFileSync(file, configuration({ scratch, groups, ports }));
  const program = programs.start(NGINX, ['-e', 'stderr', '-p', scratch, '-c', file]);
  const bases = ports.map((port) => `http://127.0.0.1:${port}`);
  for (const base of bases) await waitUntilAnswering(`${base}/livez`, program);
  return { program, bases };
}

/** The process ids of a running nginx and its workers. */
export function processesOf({ pid }) {
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return [pid, ...workers.map(Number)];
}

function configuration({ scratch, groups, ports }) {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const servers = groups.map((group, i) => {
    return `
  upstream group${i} {
    zone group${i} 64k; # all workers share one rotation
    ${group.map((port) => `server 127.0.0.1:${port};`).join(' ')}
    keepalive 64;
  }
  server {
    listen 127.0.0.1:${ports[i]} backlog=1024;
    location / {
      proxy_pass http://group${i};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      client_max_body_size 1m;
    }
  }`;
  });
  return `
daemon off;
pid ${scratch}/nginx.pid;
worker_processes auto;
${process.getuid() === 0 ? 'user root;' : ''} # only root can open the scratch folder
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_timeout 60s;
  keepalive_requests 1000000;
  ${temporary.map((name) => `${name}_temp_path ${scratch}/${name};`).join('\n  ')}
${servers.join('\n')}
}
`;
}
