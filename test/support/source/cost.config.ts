/** `npm run test:cost [-- FILES]`: runs the tests, and prints the CPU time of each test file; Linux. */
import { defineConfig, mergeConfig } from 'vitest/config'
import type { Reporter, TestModule } from 'vitest/node'
import config from '../../../vitest.config.ts'

const reporter: Reporter = {
  onTestRunEnd(modules) {
    print('  worker  others    wall  file (seconds)')
    for (const module of modules.toSorted((a, b) => cpuMsOf(b) - cpuMsOf(a))) print(lineOf(module))
    const total = modules.reduce((sum, module) => sum + cpuMsOf(module), 0)
    const { user, system } = process.cpuUsage()
    print(`All files ${seconds(total)}, and Vitest's main process ${seconds((user + system) / 1000)}`)
  },
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function cpuMsOf(module: TestModule): number {
  const { workerCpuMs = 0, childrenCpuMs = 0 } = module.meta()
  return workerCpuMs + childrenCpuMs
}

function lineOf(module: TestModule): string {
  const { workerCpuMs = 0, childrenCpuMs = 0 } = module.meta()
  const columns = [workerCpuMs, childrenCpuMs, module.diagnostic().duration].map((ms) => seconds(ms).padStart(8))
  return `${columns.join('')}  ${module.relativeModuleId}`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}

export default mergeConfig(
  config,
  defineConfig({ test: { setupFiles: ['test/support/source/cost-of-file.ts'], reporters: ['default', reporter] } }),
)
