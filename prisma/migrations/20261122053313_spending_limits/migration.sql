-- CreateEnum
CREATE TYPE "SpendingSubject" AS ENUM ('team', 'members', 'member', 'key', 'service_account');

-- CreateEnum
CREATE TYPE "SpendingPeriod" AS ENUM ('day', 'week', 'month');

-- AlterTable
ALTER TABLE "teams" ADD COLUMN     "time_zone" TEXT NOT NULL DEFAULT 'UTC';

-- CreateTable
CREATE TABLE "spending_limits" (
    "id" UUID NOT NULL,
    "team_id" UUID NOT NULL,
    "subject" "SpendingSubject" NOT NULL,
    "account_id" UUID,
    "key_id" UUID,
    "service_account_id" UUID,
    "period" "SpendingPeriod" NOT NULL,
    "amount_nano_usd" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "spending_limits_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "spending_days" (
    "team" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "account_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "spent_nano_usd" BIGINT NOT NULL,
    "unknown_calls" INTEGER NOT NULL,
    "unpriced_calls" INTEGER NOT NULL,

    CONSTRAINT "spending_days_pkey" PRIMARY KEY ("team","day","account_id","key_id")
);

-- CreateTable
CREATE TABLE "spending_notices" (
    "limit_id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "period_start" DATE NOT NULL,
    "percent" INTEGER NOT NULL,
    "amount_nano_usd" BIGINT NOT NULL,
    "sent_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "spending_notices_pkey" PRIMARY KEY ("limit_id","account_id","period_start","percent","amount_nano_usd")
);

-- CreateIndex
CREATE INDEX "spending_limits_team_id_idx" ON "spending_limits"("team_id");

-- CreateIndex
CREATE INDEX "spending_limits_account_id_idx" ON "spending_limits"("account_id");

-- CreateIndex
CREATE INDEX "spending_limits_key_id_idx" ON "spending_limits"("key_id");

-- CreateIndex
CREATE INDEX "spending_limits_service_account_id_idx" ON "spending_limits"("service_account_id");

-- CreateIndex
CREATE INDEX "spending_days_day_idx" ON "spending_days"("day");

-- CreateIndex
CREATE INDEX "spending_notices_sent_at_idx" ON "spending_notices"("sent_at");

-- AddForeignKey
ALTER TABLE "spending_limits" ADD CONSTRAINT "spending_limits_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "teams"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spending_limits" ADD CONSTRAINT "spending_limits_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spending_limits" ADD CONSTRAINT "spending_limits_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "spending_limits" ADD CONSTRAINT "spending_limits_service_account_id_fkey" FOREIGN KEY ("service_account_id") REFERENCES "service_accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;
