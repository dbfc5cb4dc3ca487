import type { operations, paths } from '../../../generated/openapi.ts'
import type { GroupedPath } from '../backends/table.ts'
import { isCompletion, isEmbeddingList, isMessage, isResponse, isTokenCount } from '../dialects/answer-shapes.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Json } from '../dialects/json/read-json.ts'
import type { Reach } from '../plan/plan.ts'

/** What differs from one operation to the next. */
export type Operation = {
  /** What is done, by the names of OpenTelemetry's conventions where they have one. */
  readonly name: 'chat' | 'text_completion' | 'embeddings' | 'count_tokens' | 'compact'
  readonly path: GroupedPath & keyof paths
  readonly dialect: Dialect
  readonly reach: Reach
  /** Whether a body is an answer of this operation, by its shape. */
  readonly isAnswer: (body: Json) => boolean
  /** Writes the answer of an operation that counts tokens, which can be estimated where no backend can. */
  readonly writeCount?: (tokens: number) => Json
  /** Called by Codex, which does not show its user the refusals that the dialect has. */
  readonly isCodex?: true
}

/** The model calls of the contract: the operations that name who served them. */
export type CallOperationId = {
  [Id in keyof operations]: operations[Id]['responses'] extends { 200: { headers: { 'x-svc-served-by': unknown } } }
    ? Id
    : never
}[keyof operations]

/** A row for each model call of the contract. */
export const OPERATIONS: Readonly<Record<CallOperationId, Operation>> = {
  createChatCompletion: {
    name: 'chat',
    path: '/v1/chat/completions',
    dialect: 'chat',
    reach: 'any_dialect',
    isAnswer: isCompletion,
  },
  createCompletion: {
    name: 'text_completion',
    path: '/v1/completions',
    dialect: 'chat',
    reach: 'own_dialect',
    isAnswer: isCompletion,
  },
  createEmbedding: {
    name: 'embeddings',
    path: '/v1/embeddings',
    dialect: 'chat',
    reach: 'own_dialect',
    isAnswer: isEmbeddingList,
  },
  createResponse: {
    name: 'chat',
    path: '/v1/responses',
    dialect: 'responses',
    reach: 'any_dialect',
    isAnswer: isResponse,
  },
  createCodexResponse: {
    name: 'chat',
    path: '/codex/v1/responses',
    dialect: 'responses',
    reach: 'any_dialect',
    isAnswer: isResponse,
    isCodex: true,
  },
  countResponseTokens: {
    name: 'count_tokens',
    path: '/v1/responses/input_tokens',
    dialect: 'responses',
    reach: 'own_dialect',
    isAnswer: isTokenCount,
    writeCount: writeResponseCount,
  },
  countCodexResponseTokens: {
    name: 'count_tokens',
    path: '/codex/v1/responses/input_tokens',
    dialect: 'responses',
    reach: 'own_dialect',
    isAnswer: isTokenCount,
    writeCount: writeResponseCount,
    isCodex: true,
  },
  compactResponse: {
    name: 'compact',
    path: '/v1/responses/compact',
    dialect: 'responses',
    reach: 'vendor_only',
    isAnswer: isResponse,
  },
  compactCodexResponse: {
    name: 'compact',
    path: '/codex/v1/responses/compact',
    dialect: 'responses',
    reach: 'vendor_only',
    isAnswer: isResponse,
    isCodex: true,
  },
  createMessage: {
    name: 'chat',
    path: '/vendorb/v1/messages',
    dialect: 'messages',
    reach: 'any_dialect',
    isAnswer: isMessage,
  },
  countMessageTokens: {
    name: 'count_tokens',
    path: '/vendorb/v1/messages/count_tokens',
    dialect: 'messages',
    reach: 'own_dialect',
    isAnswer: isTokenCount,
    writeCount: writeMessageCount,
  },
  createRootMessage: {
    name: 'chat',
    path: '/v1/messages',
    dialect: 'messages',
    reach: 'any_dialect',
    isAnswer: isMessage,
  },
  countRootMessageTokens: {
    name: 'count_tokens',
    path: '/v1/messages/count_tokens',
    dialect: 'messages',
    reach: 'own_dialect',
    isAnswer: isTokenCount,
    writeCount: writeMessageCount,
  },
}

function writeMessageCount(tokens: number): Json {
  return { input_tokens: tokens }
}

function writeResponseCount(tokens: number): Json {
  return { object: 'response.input_tokens', input_tokens: tokens }
}

/** The names of all model calls. */
export const CALL_OPERATION_IDS = Object.keys(OPERATIONS) as readonly CallOperationId[]
