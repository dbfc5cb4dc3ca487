-- CreateTable
CREATE TABLE "admin_backends" (
    "name" TEXT NOT NULL,
    "team_id" UUID NOT NULL,
    "dialects" "Dialect"[],
    "url" TEXT NOT NULL,
    "encrypted_credential" BYTEA,
    "credential_key_id" TEXT,
    "credential_as" "CredentialHeader",
    "credential_set_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "admin_backends_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE INDEX "admin_backends_team_id_idx" ON "admin_backends"("team_id");

-- AddForeignKey
ALTER TABLE "admin_backends" ADD CONSTRAINT "admin_backends_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "teams"("id") ON DELETE CASCADE ON UPDATE CASCADE;
