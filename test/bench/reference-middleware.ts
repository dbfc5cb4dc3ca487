/**
 * A reference for the benchmark, run as a process: a proxy with Express and http-proxy-middleware, without a limit of
 * connections.
 */
import { Agent } from 'node:http'
import express from 'express'
import { createProxyMiddleware } from 'http-proxy-middleware'

const [port, upstreamPort] = process.argv.slice(2).map(Number)
const agent = new Agent({ keepAlive: true })
const app = express()

app.use(createProxyMiddleware({ target: `http://127.0.0.1:${upstreamPort}`, changeOrigin: true, agent }))
app.listen(port ?? 0, '127.0.0.1')
