/**
 * Listens on a port and is stopped by the script that starts it (SIGSTOP). When its queue of connections is full, new
 * ones wait until their timeout, as behind a network that is gone.
 */
import { createServer } from 'node:net'

createServer().listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 1 })
