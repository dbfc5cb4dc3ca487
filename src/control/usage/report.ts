import type { components } from '../../../generated/openapi.ts'

export type UsageReport = components['schemas']['UsageReport']
export type UsageRow = components['schemas']['UsageRow']
export type UsageSums = components['schemas']['UsageSums']
export type UsageGrouping = components['schemas']['UsageGrouping']
