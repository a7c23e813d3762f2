# What the guides tell a reader to type; commands.test.ts types it.

# #region start
npx @loyalty-cards/mock-server exec --seed seed.json -- node shop.mjs
# #endregion

# #region sign-up
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Anna", "email": "anna@example.com", "phone": "600100200" }'
# #endregion

# #region users
curl http://localhost:3000/users
# #endregion

# #region port
npx @loyalty-cards/mock-server --port 4010
# #endregion

# #region exec
npx @loyalty-cards/mock-server exec -- npm test
# #endregion

# #region pack
npm ci && npm run build
mkdir -p ../my-shop
npm pack --ignore-scripts --pack-destination ../my-shop \
  --workspace packages/issuing-client --workspace packages/webhook-verify \
  --workspace packages/webhook-inbox --workspace packages/mock-server
# #endregion

# #region install-tarballs
npm install ./loyalty-cards-*.tgz
# #endregion
