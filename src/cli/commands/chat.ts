import { text as readAll } from 'node:stream/consumers'
import { Command } from 'commander'
import { streamChatCompletion } from '../../sdk/index.ts'
import { actionOf } from '../command-line.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment, refreshProfile } from '../deployment/deployment.ts'
import type { Deployment } from '../deployment/deployment.ts'
import { wrongUsage } from '../failures.ts'
import { withSameTarget } from '../same-target.ts'

type Options = GlobalOptions & { readonly model?: string }
type Question = Parameters<typeof streamChatCompletion>[1]

export const makeChat: MakeCommand = (cli) =>
  new Command('chat')
    .description('Ask a model once, and print its answer as it comes.')
    .argument('[text...]', 'what to ask (default: the text of standard input)')
    .option('--model <id>', 'the model to ask (default: the default model of your team)')
    .action(actionOf(cli, chat))

async function chat(cli: Cli, words: readonly string[], { url, model }: Options): Promise<void> {
  const { input, output } = cli
  const content = await readText(input, words)
  const deployment = await openDeployment(cli, url)
  const question = { messages: [{ role: 'user', content }], ...(model !== undefined && { model }) }
  const answer = ask(deployment, question, url)
  let hasBegun = false
  try {
    let next = await output.busy('Waiting for the answer', () => answer.next())
    for (; !next.done; next = await answer.next()) {
      output.write(next.value)
      hasBegun = true
    }
  } catch (error) {
    // The message of the failure must not look like a part of the answer.
    if (hasBegun) output.write('\n')
    throw error
  }
  output.write('\n')
}

/** The parts of the answer, as they come. `url`: the deployment that the command was given. */
async function* ask(deployment: Deployment, body: Question, url?: string): AsyncGenerator<string, void> {
  const { gatewayUrl, defaultModel, team } = await refreshProfile(deployment)
  if (body.model === undefined && defaultModel === null) {
    const list = withSameTarget('svc models', { url })
    throw wrongUsage(`${team} has no default model. Name one with --model. To list them, run: ${list}`)
  }
  const gateway = deployment.gatewayAt(gatewayUrl)
  for await (const { choices } of streamChatCompletion(gateway, body)) {
    const word = choices[0]?.delta.content
    if (word) yield word
  }
}

/** The words as one text. Without words, the text of standard input, unless that is a terminal. */
async function readText(input: Cli['input'], words: readonly string[]): Promise<string> {
  const text = words.length === 0 && !input.isTTY ? await readAll(input) : words.join(' ')
  if (text.trim() === '') throw wrongUsage('Say what to ask: svc chat TEXT, or give the text on standard input.')
  return text
}
