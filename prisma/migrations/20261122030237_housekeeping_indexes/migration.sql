-- CreateIndex
CREATE INDEX "browser_sessions_absolute_expires_at_idx" ON "browser_sessions"("absolute_expires_at");

-- CreateIndex
CREATE INDEX "browser_sessions_revoked_at_idx" ON "browser_sessions"("revoked_at");

-- CreateIndex
CREATE INDEX "call_event_batches_saved_at_idx" ON "call_event_batches"("saved_at");

-- CreateIndex
CREATE INDEX "device_sessions_absolute_expires_at_idx" ON "device_sessions"("absolute_expires_at");

-- CreateIndex
CREATE INDEX "device_sessions_revoked_at_idx" ON "device_sessions"("revoked_at");
