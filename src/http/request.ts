import type { Request } from 'express'
import type { Caller } from '../kernel/caller.ts'
import { readIpAddress } from '../kernel/ip-address.ts'
import type { OperationObject } from './contract.ts'
import { ApiError } from './errors.ts'

/** An operation, and its path in Express's notation and as in the contract. */
export type FoundOperation = {
  readonly expressRoute: string
  readonly openApiRoute: string
  readonly schema: OperationObject
}

declare global {
  // The one way to say what this service keeps on Express's request.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      /** Names the request in answers and in the log. */
      id: string
      /** Who makes it; set where the operation asks for a credential. */
      caller?: Caller
      /** The operation of the contract that it is for, as the validator finds it. */
      openapi?: FoundOperation
      /** The body of a model call, as it arrived, decompressed. */
      bytes?: Buffer | undefined
    }
  }
}

/** The operation that the request is for. For steps behind the one that finds it, which lets nothing else through. */
export function operationOf(req: Pick<Request, 'openapi'>): OperationObject {
  if (!req.openapi) throw new Error('The request has not been matched with an operation.')
  return req.openapi.schema
}

/** Who makes the request. For operations that the contract guards: there the caller is known. */
export function callerOf(req: Pick<Request, 'caller'>): Caller {
  if (!req.caller) throw new ApiError('unauthorized')
  return req.caller
}

/**
 * The client's IP address: the one that a trusted proxy names, or the peer's. A header that names no address is ignored, because the
 * address is counted by limits and shown to people.
 */
export function ipOf({ ip, socket }: Pick<Request, 'ip'> & Partial<Pick<Request, 'socket'>>): string {
  return readIpAddress(ip) ?? readIpAddress(socket?.remoteAddress) ?? 'unknown'
}

/** What the client calls itself, as much of it as is worth keeping. */
export function userAgentOf(req: Pick<Request, 'headers'>): string {
  return (req.headers['user-agent'] ?? '').slice(0, 512)
}

/** Would rather have a page than JSON: a browser, not a program. */
export function wantsPage(req: Pick<Request, 'headers'>): boolean {
  return (req.headers.accept ?? '').includes('text/html')
}
