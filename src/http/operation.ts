import type { Request, Response } from 'express'
import type { operations } from '../../generated/openapi.ts'

/** The id of an operation of the contract. */
export type OperationId = keyof operations

type Content<T, Media extends string> = T extends { content: infer C }
  ? Media extends keyof C
    ? C[Media]
    : never
  : never
/** The type of the body; where JSON and a form are accepted, the JSON type. */
type BodyContent<R> = [Content<R, 'application/json'>] extends [never]
  ? Content<R, 'application/x-www-form-urlencoded'>
  : Content<R, 'application/json'>
type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer R }
  ? BodyContent<R>
  : operations[Id] extends { requestBody?: infer R }
    ? Content<NonNullable<R>, 'application/json'> | undefined
    : undefined
type PathOf<Id extends OperationId> = operations[Id]['parameters'] extends { path: infer P } ? P : unknown
type QueryOf<Id extends OperationId> = operations[Id]['parameters'] extends { query: infer Q }
  ? Q
  : operations[Id]['parameters'] extends { query?: infer Q }
    ? OptionalQuery<NonNullable<Q>>
    : unknown
type OptionalQuery<Q> = [Q] extends [never] ? unknown : Q
export type Responses<Id extends OperationId> = operations[Id]['responses']
type JsonOf<All, Status extends keyof All> = Content<All[Status], 'application/json'>

/** Express's response, but `status(s).json(body)` accepts only the body that the contract has for that status. */
export interface Reply<All> extends Omit<Response, 'status' | 'json' | 'send'> {
  status<Status extends keyof All & number>(status: Status): { json(body: JsonOf<All, Status>): void }
}

type OperationRequest<Id extends OperationId> = Request<PathOf<Id>, unknown, BodyOf<Id>, QueryOf<Id>>

/** The handlers of exactly these operations. Each is an Express handler that throws an `ApiError` to refuse. */
export type Handlers<Ids extends OperationId> = {
  readonly [Id in Ids]: (req: OperationRequest<Id>, res: Reply<Responses<Id>>) => Promise<void>
}
