import { text as readAll } from 'node:stream/consumers'
import { Command } from 'commander'
import { streamChatCompletion } from '../../sdk/index.ts'
import type { Cli, GlobalOptions, MakeCommand } from '../command-line.ts'
import { openDeployment } from '../deployment/deployment.ts'
import { wrongUsage } from '../failures.ts'

export const makeChat: MakeCommand = (cli) =>
  new Command('chat')
    .description('Ask a model once, and print its answer as it comes.')
    .argument('[words...]', '[MODEL] "TEXT" (default: the default model of the team, and the text of standard input)')
    .action((words: string[], _options: object, command: Command) =>
      chat(cli, words, command.optsWithGlobals<GlobalOptions>()),
    )

async function chat(
  { environment, input, output }: Cli,
  words: readonly string[],
  { url }: GlobalOptions,
): Promise<void> {
  const { model, text } = await readQuestion(input, words)
  const { gateway } = await openDeployment(environment.folder, url)
  const body = { messages: [{ role: 'user', content: text }], ...(model !== undefined && { model }) }
  for await (const { choices } of streamChatCompletion(gateway, body)) {
    const word = choices[0]?.delta.content
    if (word) output.write(output.isTerminal ? withoutControls(word) : word)
  }
  output.write('\n')
}

type Question = { readonly model?: string; readonly text: string }

async function readQuestion(input: Cli['input'], [first, second, ...more]: readonly string[]): Promise<Question> {
  if (more.length > 0) throw wrongUsage('Put the text in quotes: svc chat "TEXT", or svc chat MODEL "TEXT"')
  if (first !== undefined && second !== undefined) return { model: first, text: second }
  const isModel = first !== undefined && !input.isTTY && /^[\w.-]+\/\S+$/.test(first)
  if (first !== undefined && !isModel) return { text: first }
  if (input.isTTY) throw wrongUsage('Say what to ask: svc chat "TEXT"')
  const text = await readAll(input)
  if (text.trim() === '') throw wrongUsage('Say what to ask: svc chat "TEXT", or give it on standard input.')
  return { text, ...(first !== undefined && { model: first }) }
}

/** Removes control characters, which could move the cursor or recolour the terminal. Line ends and tabs stay. */
function withoutControls(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what it removes.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
}
