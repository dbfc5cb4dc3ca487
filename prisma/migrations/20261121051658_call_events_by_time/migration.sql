-- CreateIndex
CREATE INDEX "call_events_at_idx" ON "call_events"("at");
