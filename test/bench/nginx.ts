/** nginx as a reference: one process, without buffering, as streams need it. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

/** Whether nginx is on PATH. */
export function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Writes the configuration into a folder and returns the arguments of the command line. */
export function nginxArguments(folder: string, port: number, upstreamPort: number): string[] {
  const file = path.join(folder, 'nginx.conf')
  writeFileSync(file, configuration(folder, port, upstreamPort))
  return ['-c', file, '-p', folder, '-e', path.join(folder, 'nginx-error.log')]
}

function configuration(folder: string, port: number, upstreamPort: number): string {
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
worker_rlimit_nofile 20000;
events { worker_connections 10000; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream models { server 127.0.0.1:${upstreamPort}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 64m;
    client_body_buffer_size 2m;
    keepalive_requests 1000000;
    location / {
      proxy_pass http://models;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }
  }
}
`
}
