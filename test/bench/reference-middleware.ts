/** What the service is compared with, a process of its own: Express and http-proxy-middleware, as its documentation sets it up. */
import express from 'express'
import { createProxyMiddleware } from 'http-proxy-middleware'

const [port, upstreamPort] = process.argv.slice(2).map(Number)
const app = express()

app.use(createProxyMiddleware({ target: `http://127.0.0.1:${upstreamPort}`, changeOrigin: true }))
app.listen(port ?? 0, '127.0.0.1')
