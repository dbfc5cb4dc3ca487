import type { Request, Response } from 'express'
import type { Actor, Caller } from '../kernel/caller.ts'
import { readIpAddress } from '../kernel/network/ip-address.ts'
import type { ServerSpan } from '../kernel/tracer.ts'
import type { CountedBody } from './body-budget.ts'
import type { OperationObject } from './contract.ts'
import { ApiError } from './errors.ts'
import type { ErrorCode } from './errors.ts'
import type { FoundPath } from './find-path.ts'

declare global {
  // This is the only way to type the properties that this service adds to Express's request.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      /** Whether the client sent HEAD, which is served as GET. */
      isHead?: boolean
      /** The id of the request, which answers and the log carry. */
      id: string
      /** Whether cookies have the names and attributes of https, because the public address is https. */
      secureCookies: boolean
      /** The authenticated caller; set when the operation takes credentials and the request has a valid one. */
      caller?: Caller
      /** What a large body takes of the memory for all bodies. */
      countedBody?: CountedBody
      /** The path of the contract that the request's path belongs to. */
      foundPath?: FoundPath
      /** The operation of the contract that the request matches. */
      operation?: OperationObject
      /** The operation's path in the contract's notation: `/v1/workers/{id}`. */
      contractPath?: string
      /** The error that the service has answered with; not set where the answer is a backend's. */
      errorCode?: ErrorCode
      /** The span that the handler has started for the request; it ends with the answer. */
      span?: ServerSpan
    }
  }
}

/** What says who sends a request: its caller, headers, cookies and IP address. It has one type for every operation. */
export type RequestHead = Pick<Request, 'caller' | 'headers' | 'cookies' | 'ip' | 'socket'>

/** The operation that the request matches. Throws when used before the step that matches requests. */
export function operationOf(req: Pick<Request, 'operation'>): OperationObject {
  if (!req.operation) throw new Error('The request has not been matched with an operation yet.')
  return req.operation
}

/** The authenticated caller. Throws `unauthorized` when there is none, which open operations may see. */
export function callerOf(req: Pick<Request, 'caller'>): Caller {
  if (!req.caller) throw new ApiError('unauthorized')
  return req.caller
}

/**
 * The client's IP address: the one that a trusted proxy names, or the peer's. A header that names no address is
 * ignored, because the address is counted by limits and shown to people.
 */
export function ipOf({ ip, socket }: Pick<Request, 'ip'> & Partial<Pick<Request, 'socket'>>): string {
  return readIpAddress(ip) ?? readIpAddress(socket?.remoteAddress) ?? 'unknown'
}

/** What says who makes a change, and from where. */
export type ActorRequest = Pick<Request, 'caller' | 'ip' | 'socket'>

/** The author of what a request changes. Throws `unauthorized` when there is no caller. */
export function actorOf(req: ActorRequest): Actor {
  const { accountId, sessionId, sessionKind, authenticatedAt } = callerOf(req)
  return { accountId, sessionId, sessionKind, authenticatedAt, ip: ipOf(req) }
}

/** The first 512 characters of the `User-Agent` header. */
export function userAgentOf(req: Pick<Request, 'headers'>): string {
  return (req.headers['user-agent'] ?? '').slice(0, 512)
}

/** Whether the client is a browser that asks for a page, rather than a program that asks for JSON. */
export function wantsPage(req: Pick<Request, 'headers'>): boolean {
  return (req.headers.accept ?? '').includes('text/html')
}

/**
 * Request and answer as Express types them, for operations that answer with more than JSON: pages, redirects, streams.
 * The types of handlers know JSON answers only.
 */
export function asExpress(req: unknown, res: unknown): [Request, Response] {
  return [req as Request, res as Response]
}
