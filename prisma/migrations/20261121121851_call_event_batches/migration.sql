-- DropIndex
DROP INDEX "call_events_request_id_kind_key";

-- CreateTable
CREATE TABLE "call_event_batches" (
    "id" TEXT NOT NULL,
    "saved_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "call_event_batches_pkey" PRIMARY KEY ("id")
);
