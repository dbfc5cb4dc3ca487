import type { TeamBackend, TeamBackendList, TeamModelsForm } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { DIALECT_NAMES } from '../../../kernel/dialect.ts'
import type { Dialect } from '../../../kernel/dialect.ts'
import { prefixOfTeam } from '../../../kernel/team-name.ts'
import { actionButton } from '../../pages/buttons.ts'
import { choiceField } from '../../pages/choice-field.ts'
import { mistakenGroup, mistakeText } from '../../pages/field-mistake.ts'
import { AS_TYPED, inputField } from '../../pages/input-field.ts'
import { confirmFirst, fold, time } from '../../pages/parts.ts'
import { versionField } from './model-parts.ts'
import type { ModelsPageForms } from './model-parts.ts'
import { LABELS } from './models-outcome.ts'
import type { FormMistakes } from './models-outcome.ts'

type Backends = TeamBackendList & { readonly fresh: boolean }

/** The backends of a team, those of its admins with a form each, and the form for another one. */
export function backendsPart({ backends, allowedHosts, fresh }: Backends, forms: ModelsPageForms): Html {
  const isAllowed = allowedHosts.length > 0
  // A refused form stays filled in, also when the sign-in was not fresh any more.
  const isAddDraft = forms.draft?.action === 'add-backend'
  return html`<section class="part" aria-labelledby="backends">
    <h2 id="backends">Backends</h2>
    <p class="about">
      ${
        isAllowed
          ? html`Servers that models of admins may name. The operator allows these hosts:
              <span class="name">${allowedHosts.join(', ')}</span>.`
          : 'Servers that models of admins may name. The operator of this service lets admins add none.'
      }
      ${isAllowed && !fresh && html`To add or change one, ${confirmFirst(forms.path)}.`}
    </p>
    ${
      backends.length > 0 &&
      html`<ul class="rows">
        ${backends.map((backend) => backendRow(backend, forms, fresh && isAllowed))}
      </ul>`
    }
    ${isAllowed && (fresh || isAddDraft) && html`<div class="foot">${addForm(forms)}</div>`}
  </section>`
}

function backendRow(backend: TeamBackend, forms: ModelsPageForms, canChange: boolean): Html {
  const { name, source, dialects, url, basePath, credential, problem } = backend
  const { draft } = forms
  const given = draft?.action === 'change-backend' && draft.backend === name ? draft : null
  return html`<li class="${source === 'admin' ? 'row' : 'row plain'}">
    <p class="row-name">
      <span class="name">${name}</span> ${problem && html`<span class="badge bad">${PROBLEMS[problem]}</span>`}
    </p>
    <p class="row-facts">
      <span>${dialects.join(', ')}</span>
      <span class="name">${url === null ? 'of the directory file' : `${url} · API at ${basePath}`}</span>
      ${source === 'admin' && html`<span>${credentialOf(credential)}</span>`}
    </p>
    ${source === 'admin' && fold('Edit', name, editForms(backend, forms, given, canChange), given !== null)}
  </li>`
}

function credentialOf(credential: TeamBackend['credential']): Interpolation {
  return credential ? html`credential set ${time(new Date(credential.setAt))}` : 'no credential'
}

const PROBLEMS = {
  host_not_allowed: 'Host not allowed any more',
  credential_unreadable: 'Set the credential again',
} as const satisfies Record<NonNullable<TeamBackend['problem']>, string>

function editForms(
  backend: TeamBackend,
  { path, mistakes }: ModelsPageForms,
  given: TeamModelsForm | null,
  canChange: boolean,
): Interpolation {
  const { name, credential } = backend
  const hidden = html`<input type="hidden" name="backend" value="${name}" />`
  return [
    (canChange || given !== null) &&
      html`<form method="post" action="${path}" class="fields roomy">
        ${hidden} ${versionField(backend)}
        ${backendFields({
          prefix: name,
          values: given ?? toForm(backend),
          hasCredential: credential !== null,
          mistakes: given ? mistakes : {},
        })}
        ${actionButton('change-backend', 'Save')}
      </form>`,
    html`<form method="post" action="${path}">
      ${hidden}
      <p>While a model uses it, it cannot be deleted. Deleting it cannot be undone: its credential is deleted too.</p>
      ${actionButton('delete-backend', 'Delete the backend and its credential', 'danger')}
    </form>`,
  ]
}

function addForm({ path, draft, mistakes, team }: ModelsPageForms): Html {
  const given = draft?.action === 'add-backend' ? draft : null
  return fold(
    'Add a backend',
    '',
    html`<form method="post" action="${path}" class="fields roomy">
      ${inputField({
        id: 'new-backend-backend',
        name: 'backend',
        label: `Name, after ${prefixOfTeam(team)}`,
        value: given?.backend,
        attributes: html`required maxlength="64" ${AS_TYPED}`,
        mistake: given ? mistakes['name'] : undefined,
      })}
      ${backendFields({
        prefix: 'new-backend',
        values: given ?? { chat: '1' },
        hasCredential: false,
        mistakes: given ? mistakes : {},
      })}
      ${actionButton('add-backend', 'Add the backend', 'primary')}
    </form>`,
    given !== null,
  )
}

type Values = Partial<TeamModelsForm>

function toForm({ url, basePath, dialects, credential }: TeamBackend): Values {
  const spoken = Object.fromEntries(dialects.map((dialect) => [dialect, '1'] as const))
  const address = { ...(url !== null && { url }), ...(basePath !== null && { basePath }) }
  return { ...address, ...spoken, ...(credential && { credentialAs: credential.as }) }
}

type BackendFields = {
  /** What the ids of these fields begin with. */
  readonly prefix: string
  readonly values: Values
  readonly hasCredential: boolean
  readonly mistakes: FormMistakes
}

/** The credential is never filled in: it is not known to the page. */
function backendFields({ prefix, values, hasCredential, mistakes }: BackendFields): Interpolation {
  const { url, basePath = '/v1', credentialAs = 'bearer' } = values
  return [
    inputField({
      id: `${prefix}-url`,
      name: 'url',
      label: LABELS.url,
      value: url,
      attributes: html`required maxlength="500" ${AS_TYPED}`,
      mistake: mistakes['url'],
    }),
    inputField({
      id: `${prefix}-path`,
      name: 'basePath',
      label: LABELS.basePath,
      hint: 'optional',
      value: basePath,
      attributes: html`maxlength="200" ${AS_TYPED}`,
      mistake: mistakes['basePath'],
    }),
    html`<fieldset class="whole ticks" ${mistakenGroup(`${prefix}-dialects`, mistakes['dialects'])}>
      <legend>${LABELS.dialects}</legend>
      ${mistakeText(`${prefix}-dialects`, mistakes['dialects'])}
      ${DIALECT_NAMES.map((name) => tick({ name, label: DIALECT_TITLES[name], isChecked: values[name] === '1' }))}
    </fieldset>`,
    inputField({
      id: `${prefix}-credential`,
      name: 'credential',
      label: LABELS.credential,
      hint: hasCredential ? 'empty: as it is' : 'optional',
      attributes: html`type="password" maxlength="4096" spellcheck="false"`,
      mistake: mistakes['credential'],
    }),
    choiceField({
      id: `${prefix}-as`,
      name: 'credentialAs',
      label: 'Sent as',
      choices: [
        ['bearer', 'Authorization: Bearer'],
        ['x-api-key', 'x-api-key'],
      ],
      chosen: credentialAs,
    }),
    hasCredential && tick({ name: 'removeCredential', label: 'Remove the stored credential', isChecked: false }),
  ]
}

type Tick = { readonly name: string; readonly label: string; readonly isChecked: boolean }

function tick({ name, label, isChecked }: Tick): Html {
  return html`<label class="tick"
    ><input type="checkbox" name="${name}" value="1" ${isChecked && html`checked`} /> ${label}</label
  >`
}

const DIALECT_TITLES: Readonly<Record<Dialect, string>> = {
  chat: 'Chat completions',
  responses: 'Responses',
  messages: 'Messages',
}
