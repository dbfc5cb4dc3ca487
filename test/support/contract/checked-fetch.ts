import { checkAnswer } from './contract-check.ts'
import { checkRequest } from './contract-request.ts'

/** `fetch` that rejects when an answer does not match the contract, or an accepted request. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const { method, headers } = request
  const url = new URL(request.url)
  const sent = request.clone()
  const response = await fetch(request)
  await checkAnswer(method, url, response)
  if (response.status < 400) checkRequest({ method, url, headers, body: await sent.text() })
  return response
}
