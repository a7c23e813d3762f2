# frozen_string_literal: true

# How the server waits for a request. Puma starts the program when all of it has arrived.

# #region puma
first_data_timeout 10 # seconds without any bytes, then 408
# #endregion
