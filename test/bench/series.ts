/** What `npm run bench` measures of each server. */
import {
  agentCalls,
  idleStreams,
  jsonCalls,
  logins,
  openAfterLeaving,
  slowestCalls,
  streamChunks,
  translatedRatio,
} from './measures.ts'
import type { Server } from './processes.ts'

export const UPSTREAM_PORT = 18_701

export type Series = {
  readonly name: string
  readonly title: string
  /** How often each server is measured without counting, before the first round. */
  readonly warmUps: number
  readonly measure: (server: Server) => Promise<number>
  /** What warms a server up, before the first round only; default: `measure`, and once before each measurement. */
  readonly warmUp?: (server: Server) => Promise<number>
  /** Short measurements that alternate between the servers more often; default 1. */
  readonly measuresPerRound?: number
  /** The decimals that are printed; default 0. */
  readonly digits?: number
  /** Measured once for each server, not in rounds. */
  readonly once?: true
  /** Measured at whole services, because gateways and references cannot do it. */
  readonly needsDatabase?: true
}

export const SERIES: readonly Series[] = [
  jsonSeries('json-1k', '1 KB', 1_000, { calls: 3_000, warmUps: 10 }),
  jsonSeries('json-200k', '200 KB', 200_000, { calls: 400, warmUps: 4 }),
  jsonSeries('json-1m', '1 MB', 1_000_000, { calls: 100, warmUps: 2 }),
  agentSeries('agent-200k', '200 KB', 200_000, { calls: 400, warmUps: 4 }),
  agentSeries('agent-1m', '1 MB', 1_000_000, { calls: 100, warmUps: 2 }),
  {
    name: 'translated',
    title: 'Translated call, 200 KB body: times the CPU of one that passes (1.00: no translation)',
    warmUps: 3,
    digits: 2,
    measure: (server) => translatedRatio(server, 200),
  },
  {
    name: 'sse',
    title: 'SSE chunk, 100 streams at 50 per second: CPU µs per chunk',
    warmUps: 4,
    measure: (server) => streamChunks(server, 100, 3_000),
  },
  {
    name: 'p99',
    title: '99th percentile of a call at 200 calls per second: µs',
    warmUps: 5,
    warmUp: (server) => jsonCalls(server, 1_000, 3_000),
    measure: (server) => slowestCalls(server, 200, 1),
    measuresPerRound: 5,
  },
  {
    name: 'login',
    title: 'Login of a device: CPU µs, with the embedded database',
    warmUps: 3,
    measure: (server) => logins(server, 500),
    needsDatabase: true,
  },
  {
    name: 'idle',
    title: 'Open stream without traffic (of 4,000): KB',
    warmUps: 0,
    measure: (server) => idleStreams(server, 4_000),
    once: true,
  },
  leavingSeries('leave-mid-stream', 'mid-stream', 'stream'),
  leavingSeries('leave-early', 'before the first byte', 'never'),
  // The last ones, because a server that was started again has no compiled code.
  {
    name: 'start',
    title: 'Start to the first answer, with a database that exists: ms',
    warmUps: 1,
    measure: async (server) => (await server.restart()).ms,
  },
  {
    name: 'resident',
    title: 'Memory two seconds after the start: MB',
    warmUps: 0,
    measure: async (server) => (await server.restart()).residentMb,
    once: true,
  },
]

function jsonSeries(name: string, size: string, bytes: number, { calls, warmUps }: { calls: number; warmUps: number }) {
  const title = `JSON call, ${size} body: CPU µs per call`
  return { name, title, warmUps, measure: (server: Server) => jsonCalls(server, bytes, calls) }
}

function agentSeries(
  name: string,
  size: string,
  bytes: number,
  { calls, warmUps }: { calls: number; warmUps: number },
) {
  const title = `Call of an agent, ${size} body: CPU µs per call`
  return { name, title, warmUps, measure: (server: Server) => agentCalls(server, bytes, calls) }
}

function leavingSeries(name: string, when: string, phase: 'stream' | 'never'): Series {
  return {
    name,
    title: `Upstream calls open 1 s after 200 callers left ${when}`,
    warmUps: 0,
    measure: (server) => openAfterLeaving(server, phase, 200, UPSTREAM_PORT),
    once: true,
  }
}
