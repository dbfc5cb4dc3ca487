import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { TO_DEVICES } from './answer-pages.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import type { IconName } from './icons.ts'
import { answer } from './parts.ts'
import type { Tone } from './parts.ts'

export type ErrorPage = {
  readonly status: number
  /** What happened, where the status does not say it. */
  readonly reason?: string | undefined
  /** Identifies the request in the service's log. */
  readonly requestId: string
  /** How long to wait; undefined when waiting does not help. */
  readonly retryAfterSeconds?: number | undefined
}

/** The page for an error: what happened and what to do, without internals of the service. */
export function errorPage({ status, reason, requestId, retryAfterSeconds }: ErrorPage): Html {
  const { title, what, next, tone, icon } = wordsFor(status)
  const advice = retryAfterSeconds ? `Try again in ${toDuration(retryAfterSeconds)}.` : next
  return page(
    { title },
    html`${answer(tone, icon, title, [reason ?? what, advice])} ${nextStep(status)}
      <p class="hint reference">Error ${status} · <span class="name">${requestId}</span></p>`,
  )
}

function nextStep(status: number): Interpolation {
  if (status === 401) return html`<p class="more"><a class="button" href="${PATHS.signIn}">Sign in</a></p>`
  return [403, 404, 405].includes(status) && TO_DEVICES
}

type Words = {
  readonly title: string
  readonly what: string
  readonly next: string
  readonly tone: Tone
  readonly icon: IconName
}

const NOTHING_HERE: Words = {
  title: 'Nothing here',
  what: 'There is no such page, or it is not yours to see.',
  next: 'Check the address for typing mistakes, or go on from your devices.',
  tone: 'plain',
  icon: 'alert',
}

const WORDS: Readonly<Record<number, Words>> = {
  400: {
    title: 'That did not work',
    what: 'The request was incomplete or not in the expected form.',
    next: 'Go back and try again. If you came by a link, copy all of it into the address bar.',
    tone: 'bad',
    icon: 'alert',
  },
  401: {
    title: 'You are not signed in',
    what: 'This page needs you to be signed in, or your sign-in has ended.',
    next: 'Sign in, then try again.',
    tone: 'wait',
    icon: 'key',
  },
  403: {
    title: 'Not allowed',
    what: 'You are not allowed to do this.',
    next: 'If you need this, ask an admin of your team. If you came from another site, go on from the page below.',
    tone: 'bad',
    icon: 'cross',
  },
  404: NOTHING_HERE,
  // A browser that opens its tabs again asks for the page that followed a form.
  405: NOTHING_HERE,
  429: {
    title: 'Too many tries',
    what: 'There were too many requests in a short time. Nothing is lost.',
    next: 'Wait a few minutes, then try again.',
    tone: 'wait',
    icon: 'clock',
  },
  500: {
    title: 'Something broke',
    what: 'This is our mistake, not yours.',
    next: 'Try again. If it happens twice, give the line below to the person who runs this service.',
    tone: 'bad',
    icon: 'alert',
  },
  503: {
    title: 'Not available right now',
    what: 'The service cannot do this at the moment. Nothing is lost, and your links work until they expire.',
    next: 'Try again in a minute.',
    tone: 'wait',
    icon: 'clock',
  },
}

function wordsFor(status: number): Words {
  const words = WORDS[status] ?? WORDS[status >= 500 ? 500 : 400]
  if (!words) throw new Error('WORDS has no entry for 400 or 500.')
  return words
}

function toDuration(seconds: number): string {
  if (seconds < 90) return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  return `${Math.ceil(seconds / 60)} minutes`
}
