# The commands of the guides; commands.test.ts runs them.

# #region start
git clone https://github.com/loyalty-cards/loyalty-cards && cd loyalty-cards
npm ci && npm run build && npm run release -- pack ../my-shop
cd ../my-shop
npm init --yes && npm pkg set type=module
npm install ./loyalty-cards-*.tgz
npm install --save-dev tsx typescript @types/node
# #endregion

# #region first-card
npx loyalty-cards exec --port 4010 -- npx tsx first-card.ts
# #endregion

# #region libsql
npm install libsql # only before Node 22.13; newer versions include SQLite
# #endregion

# #region install-express
npm install express && npm install --save-dev @types/express
# #endregion

# #region install-fastify
npm install fastify
# #endregion

# #region install-next
npm install next react react-dom server-only && npm install --save-dev @types/react
# #endregion

# #region start-express
npx loyalty-cards exec --port 4010 --forward http://localhost:3000/webhooks/loyalty -- \
  npx tsx shop-express.ts &
# #endregion

# #region start-fastify
npx loyalty-cards exec --port 4010 --forward http://localhost:3000/webhooks/loyalty -- \
  npx tsx shop-fastify.ts &
# #endregion

# #region start-next
npx loyalty-cards exec --port 4010 --forward http://localhost:3000/webhooks/loyalty -- \
  npx next dev --port 3000 &
# #endregion

# Without the mock service, which a test starts itself.
# #region start-shop-only
npx tsx shop-express.ts
# #endregion

# #region sign-up
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Anna", "email": "anna@example.com", "phone": "600100200" }'
# #endregion

# #region sign-up-invalid
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Ben", "email": "ben@example.com", "phone": "12" }'
# #endregion

# #region sign-up-corrected
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Ben", "email": "ben@example.com", "phone": "600100201" }'
# #endregion

# #region purchase
card=$(curl --silent http://localhost:3000/users | grep -o 'card_[[:alnum:]]*' | tail -n 1)
npx loyalty-cards purchase $card 120 --base-url http://localhost:4010
# #endregion

# #region stop
kill %1; rm shop.db*
# #endregion

# #region users
curl http://localhost:3000/users
# #endregion

# #region port
npx @loyalty-cards/mock-server --port 4010
# #endregion

# #region exec
npx loyalty-cards exec -- npm test
# #endregion
