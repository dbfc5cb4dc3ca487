export { followAgentSession } from './agent-sessions.ts'
export type { FollowedSession, FollowOptions } from './agent-sessions.ts'
export { createClient, unwrap } from './client.ts'
export type { SvcClient, SvcClientOptions } from './client.ts'
export type { ErrorCode } from './contract-types.ts'
export { deviceLogin } from './device-login.ts'
export type { DeviceLoginOptions } from './device-login.ts'
export {
  ExpiredError,
  NotAllowedError,
  NotSignedInError,
  RateLimitedError,
  StreamError,
  SvcError,
  UnavailableError,
} from './errors.ts'
export type { SvcErrorFields } from './errors.ts'
export { events } from './events.ts'
export type { StreamOptions } from './events.ts'
export type { Send } from './send.ts'
export { memoryTokenStore, openSession } from './session.ts'
export type { Session, SessionOptions, StoredTokens, TokenStore } from './session.ts'
export { streamChatCompletion, streamMessage, streamResponse } from './streams.ts'
export type { ResponseStreamOptions } from './streams.ts'
export type { Wait } from './wait.ts'
export type * from '#openapi'
