import { Redis } from 'ioredis'
import type { Secret } from '../kernel/secret.ts'
import type { Logger } from '../log.ts'

/** Opens the connection to Redis. Commands fail at once while it is away, and then limits count in this process. */
export function openRedis(url: Secret, log: Logger): Redis {
  const redis = new Redis(url.reveal(), {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    commandTimeout: 500,
  })
  // Each failed attempt emits an error, and only the first one is logged. Without a listener it would end the process.
  let isAway = false
  redis.on('error', (error) => {
    if (!isAway) log.warn({ reason: error.message }, 'redis.disconnected')
    isAway = true
  })
  redis.on('ready', () => {
    log.info({}, 'redis.connected')
    isAway = false
  })
  return redis
}
