-- AlterEnum
ALTER TYPE "CallEventKind" ADD VALUE 'retried';

-- AlterTable
ALTER TABLE "call_events" ADD COLUMN     "cache_write_long_tokens" INTEGER,
ADD COLUMN     "cache_write_tokens" INTEGER,
ADD COLUMN     "cost_nano_usd" BIGINT,
ADD COLUMN     "is_estimated" BOOLEAN,
ADD COLUMN     "reasoning_tokens" INTEGER,
ADD COLUMN     "uncached_tokens" INTEGER;

-- AlterTable
ALTER TABLE "models" ADD COLUMN     "price" JSONB NOT NULL DEFAULT '{}';

-- CreateTable
CREATE TABLE "usage_days" (
    "team" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "account_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "model" TEXT NOT NULL,
    "backend" TEXT NOT NULL,
    "dialect" "Dialect" NOT NULL,
    "calls" INTEGER NOT NULL,
    "failed_calls" INTEGER NOT NULL,
    "unknown_calls" INTEGER NOT NULL,
    "estimated_calls" INTEGER NOT NULL,
    "priced_calls" INTEGER NOT NULL,
    "unpriced_calls" INTEGER NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "cache_read_tokens" BIGINT NOT NULL,
    "cache_write_tokens" BIGINT NOT NULL,
    "cache_write_long_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "reasoning_tokens" BIGINT NOT NULL,
    "cost_nano_usd" BIGINT NOT NULL,

    CONSTRAINT "usage_days_pkey" PRIMARY KEY ("team","day","account_id","key_id","model","backend","dialect")
);

-- CreateIndex
CREATE INDEX "usage_days_account_id_day_idx" ON "usage_days"("account_id", "day");
