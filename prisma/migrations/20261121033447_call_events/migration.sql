-- CreateEnum
CREATE TYPE "CallEventKind" AS ENUM ('started', 'finished', 'failed');

-- CreateTable
CREATE TABLE "call_events" (
    "id" BIGSERIAL NOT NULL,
    "kind" "CallEventKind" NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "request_id" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "team" TEXT NOT NULL,
    "device_session_id" UUID NOT NULL,
    "session_id" TEXT,
    "style" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "served_by" TEXT NOT NULL,
    "outcome" TEXT,
    "status" INTEGER,
    "first_byte_ms" INTEGER,
    "duration_ms" INTEGER,
    "input_tokens" INTEGER,
    "output_tokens" INTEGER,
    "cached_tokens" INTEGER,

    CONSTRAINT "call_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "call_events_team_session_id_id_idx" ON "call_events"("team", "session_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "call_events_request_id_kind_key" ON "call_events"("request_id", "kind");
