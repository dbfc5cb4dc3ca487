import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCommandFile } from '../support/command-file.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ env: { SVC_GATEWAY_URL: 'http://gateway.example' } })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('showHome', () => {
  describe('200', () => {
    it('shows people how to sign in and how to start an agent, without a script', async () => {
      const response = await service.fetch('/', { headers: { accept: 'text/html' } })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-security-policy')).not.toContain('script-src')
      const page = await response.text()
      for (const part of ['href="/sign-in"', 'href="/device"']) expect(page).toContain(part)
      expect(page).toMatch(/npm install -g .*svc login http:\/\/localhost:8787.*svc run /s)
    })

    it('tells programs where to go on', async () => {
      expect(await (await service.fetch('/')).json()).toEqual({
        service: 'svc',
        signIn: 'http://localhost:8787/sign-in',
        deviceStart: 'http://localhost:8787/v1/auth/device/start',
        gateway: 'http://gateway.example',
        docs: 'http://localhost:8787/docs',
        contract: 'http://localhost:8787/openapi.json',
      })
    })

    it('tells where to install the command from, where the deployment offers it', async () => {
      await using file = await newCommandFile()
      await using offering = await startService({ env: { SVC_COMMAND_FILE: file.path } })
      const url = 'http://localhost:8787/assets/svc-cli.tgz'
      const page = await (await offering.fetch('/', { headers: { accept: 'text/html' } })).text()
      expect(page).toContain(`npm install -g ${url}`)
      expect(page).not.toContain('Ask an admin')
      expect(await (await offering.fetch('/')).json()).toMatchObject({ command: url })
    })
  })
})
