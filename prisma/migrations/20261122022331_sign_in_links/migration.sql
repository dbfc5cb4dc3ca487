-- CreateTable
CREATE TABLE "sign_in_links" (
    "hash" TEXT NOT NULL,
    "invitation_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    "ip" TEXT NOT NULL,

    CONSTRAINT "sign_in_links_pkey" PRIMARY KEY ("hash")
);

-- CreateIndex
CREATE INDEX "sign_in_links_invitation_id_idx" ON "sign_in_links"("invitation_id");

-- CreateIndex
CREATE INDEX "sign_in_links_expires_at_idx" ON "sign_in_links"("expires_at");

-- AddForeignKey
ALTER TABLE "sign_in_links" ADD CONSTRAINT "sign_in_links_invitation_id_fkey" FOREIGN KEY ("invitation_id") REFERENCES "invitations"("id") ON DELETE CASCADE ON UPDATE CASCADE;
