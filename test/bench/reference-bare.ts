/** A reference for the benchmark, run as a process: a proxy with Express and undici, without any checks. */
import express from 'express'
import { Pool } from 'undici'

const [port, upstreamPort] = process.argv.slice(2).map(Number)
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: null, pipelining: 1 })
const app = express()

app.use(express.raw({ type: () => true, limit: '64mb' }))
app.use((req, res) => {
  let abort: (() => void) | undefined
  res.once('close', () => abort?.())
  pool.dispatch(
    {
      method: req.method,
      path: req.originalUrl,
      headers: { 'content-type': 'application/json', 'x-stainless-lang': String(req.headers['x-stainless-lang']) },
      body: req.body as Buffer,
    },
    {
      onRequestStart: (controller) => (abort = () => controller.abort(new Error('The caller has left.'))),
      onResponseStart(_controller, status, headers) {
        res.writeHead(status, { 'content-type': String(headers['content-type']) })
        res.flushHeaders()
      },
      onResponseData: (_controller, chunk) => void res.write(chunk),
      onResponseEnd: () => void res.end(),
      onResponseError: () => void res.destroy(),
    },
  )
})
app.listen(port ?? 0, '127.0.0.1')
