import type { Request, Response } from 'express'
import type { operations } from '../../generated/openapi.ts'

/** The name of an operation of the contract. */
export type OperationId = keyof operations

type Content<T, Media extends string> = T extends { content: infer C }
  ? Media extends keyof C
    ? C[Media]
    : never
  : never
/** Where a form may come instead of JSON, JSON is what the handler is typed by. */
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

/** The JSON body that an operation answers with a status. */
export type AnswerOf<Id extends OperationId, Status extends keyof Responses<Id>> = JsonOf<Responses<Id>, Status>

/** Express's own response, except that a status takes only the JSON body that the contract gives it. */
export interface Reply<All> extends Omit<Response, 'status' | 'json' | 'send'> {
  status<Status extends keyof All & number>(status: Status): { json(body: JsonOf<All, Status>): void }
}

type Asked<Id extends OperationId> = Request<PathOf<Id>, unknown, BodyOf<Id>, QueryOf<Id>>

/** The handlers of these operations, none missing, none extra. Each is a plain Express handler that throws an `ApiError` to refuse. */
export type Handlers<Ids extends OperationId> = {
  readonly [Id in Ids]: (req: Asked<Id>, res: Reply<Responses<Id>>) => Promise<void>
}
