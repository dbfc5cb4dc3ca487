/**
 * OAuth at the address of a gateway that runs without a control plane. Claude Code takes only endpoints at the origin
 * of its base URL, so such a gateway answers the metadata itself, with its own address, and forwards three requests to
 * the control plane. It forwards nothing else: no other route, no credential of the caller, and only listed headers.
 */
import type { Request, Response } from 'express'
import { smallBody } from '../../http/body.ts'
import { contractOf } from '../../http/contract.ts'
import type { Contract } from '../../http/contract.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers, Reply } from '../../http/operation.ts'
import { networkKey } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { ipOf, userAgentOf } from '../../http/request.ts'
import type { RoleRoutes } from '../../http/role.ts'
import { sameOrigin } from '../../http/same-origin.ts'
import type { MetadataOperation } from './routes.ts'
import { toMetadata } from './rules.ts'

type Needs = {
  /** The published document. */
  readonly contract: Contract
  /** The control plane's public address: the issuer. */
  readonly baseUrl: string
  /** This gateway's public address. */
  readonly gatewayUrl: string
  /** Where this process reaches the control plane. */
  readonly controlPlaneUrl: string
  /** The requests of one network. */
  readonly limit: RateLimit
}

/** The three routes that are forwarded. */
const PATHS = ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'] as const

const METADATA_PATHS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/vendorb/.well-known/oauth-authorization-server',
] as const

const MAX_BODY_BYTES = 16 * 1024
const ANSWER_TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 64 * 1024

/** Marks a request that a gateway forwards, so that one that reaches a gateway again is refused and not forwarded. */
const FORWARDED = 'x-svc-forwarded'

/** The headers of an answer that go on to the caller. */
const FORWARDED_HEADERS = ['content-type', 'cache-control', 'pragma', 'retry-after']

/** Makes the routes that a gateway without a control plane forwards to it. */
export function makeOAuthForwarding(needs: Needs): RoleRoutes {
  const { baseUrl, gatewayUrl } = needs
  const metadata = toMetadata(baseUrl, gatewayUrl)
  const sendMetadata: Handlers<MetadataOperation>[MetadataOperation] = async (_req, res) => {
    res.status(200).json(metadata)
  }
  const forward = (path: (typeof PATHS)[number]) => makeForward(needs, path)
  return {
    contract: partOf(contractOf(needs.contract, 'control-plane'), [...METADATA_PATHS, ...PATHS]),
    handlers: {
      getAuthorizationServer: sendMetadata,
      getOpenidConfiguration: sendMetadata,
      getVendorbAuthorizationServer: sendMetadata,
      authorizeDevice: forward('/oauth/device_authorization'),
      issueOAuthTokens: forward('/oauth/token'),
      revokeOAuthToken: forward('/oauth/revoke'),
    },
    // These operations take no credential.
    schemes: {},
    explainToken: async () => 'unknown',
    parseBody: smallBody(MAX_BODY_BYTES),
    nameAllMistakes: true,
    firstOperations: [],
    before: [sameOrigin([new URL(gatewayUrl).origin, new URL(baseUrl).origin])],
  }
}

function partOf(contract: Contract, paths: readonly string[]): Contract {
  return {
    ...contract,
    paths: Object.fromEntries(Object.entries(contract.paths).filter(([path]) => paths.includes(path))),
  }
}

/** A request with a form, which has been checked against the contract. */
type Forwarded = Pick<Request, 'ip' | 'socket' | 'headers'> & { readonly body: Readonly<Record<string, unknown>> }

/** Sends a form to the control plane and hands its JSON answer on. */
function makeForward({ controlPlaneUrl, limit }: Needs, path: string) {
  return async (req: Forwarded, res: Reply<object>): Promise<void> => {
    await limit.take(networkKey(ipOf(req)))
    if (req.headers[FORWARDED] !== undefined) throw new ApiError('service_unavailable', { message: LOOP })
    const { status, headers, body } = await send(controlPlaneUrl + path, req)
    // The control plane keeps to the contract. The reply type knows JSON answers only.
    const answer = res as unknown as Response
    for (const name of FORWARDED_HEADERS) {
      const value = headers.get(name)
      if (value !== null) answer.set(name, value)
    }
    answer.status(status).end(body)
  }
}

const LOOP = 'The request came back to a gateway. SVC_CONTROL_PLANE_URL must name the control plane.'
const UNREACHABLE = 'The control plane cannot be reached. Try again shortly.'

type Answer = { readonly status: number; readonly headers: Headers; readonly body: Buffer }

/** Throws `service_unavailable` when there is no answer, or one that is not the control plane's. */
async function send(url: string, req: Forwarded): Promise<Answer> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body: toForm(req.body),
      headers: { 'user-agent': userAgentOf(req), 'x-forwarded-for': ipOf(req), [FORWARDED]: '1' },
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    return { status: answer.status, headers: answer.headers, body: await readJson(answer) }
  } catch (cause) {
    throw new ApiError('service_unavailable', { message: UNREACHABLE, cause })
  }
}

/** A field that is sent twice stays so, for the control plane to judge. */
function toForm(body: Forwarded['body']): URLSearchParams {
  return new URLSearchParams(
    Object.entries(body).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])),
  )
}

async function readJson(answer: globalThis.Response): Promise<Buffer> {
  const type = answer.headers.get('content-type') ?? ''
  if (!type.startsWith('application/json')) throw new Error(`The control plane answered with "${type}" and not JSON.`)
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = answer.body?.getReader()
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    size += part.value.length
    if (size > MAX_ANSWER_BYTES) throw new Error('The answer of the control plane is too large.')
    chunks.push(part.value)
  }
  return Buffer.concat(chunks)
}
