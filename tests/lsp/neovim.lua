-- Drives a real Neovim as a person would: opens the file, reads the squiggles, hovers, applies the preferred fixes, saves.
-- Reports one JSON object to the file named by GRADSENSE_TEST_REPORT.

local report = { before = {}, applied = {}, after = {} }

local function squiggles()
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    local covered = vim.api.nvim_buf_get_text(
      0, diagnostic.lnum, diagnostic.col, diagnostic.end_lnum, diagnostic.end_col, {}
    )
    table.insert(found, { code = diagnostic.code, line = diagnostic.lnum + 1, text = table.concat(covered, '\n') })
  end
  return found
end

local function hover()
  local params = vim.lsp.util.make_position_params(0, vim.lsp.get_clients({ bufnr = 0 })[1].offset_encoding)
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/hover', params, 10000)
  for _, answer in pairs(answers or {}) do
    return answer.result.contents.value
  end
end

local function mend(diagnostic)
  vim.api.nvim_win_set_cursor(0, { diagnostic.lnum + 1, diagnostic.col })
  local tick, chosen = vim.b.changedtick, nil
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      if chosen == nil and action.isPreferred then
        chosen = action.title
        return true
      end
      return false
    end,
  })
  assert(vim.wait(10000, function() return vim.b.changedtick ~= tick end, 20), 'no fix was applied')
  table.insert(report.applied, chosen)
end

local function count() return #vim.diagnostic.get(0) end

local function drive()
  vim.lsp.config('gradsense', {
    cmd = vim.json.decode(vim.env.GRADSENSE_TEST_SERVER), filetypes = { 'python' }, root_dir = vim.fn.getcwd(),
  })
  vim.lsp.enable('gradsense')
  vim.bo.filetype = 'python'
  local faults = tonumber(vim.env.GRADSENSE_TEST_FAULTS)
  assert(vim.wait(20000, function() return count() >= faults end, 20), 'not all diagnostics came')
  report.before = squiggles()
  local first = vim.diagnostic.get(0)[1]
  vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
  report.hover = hover()
  while count() > 0 and #report.applied < 10 do
    local before = count()
    mend(vim.diagnostic.get(0)[1])
    assert(vim.wait(10000, function() return count() < before end, 20), 'the squiggle stayed')
  end
  report.after = squiggles()
  vim.cmd('silent write')
end

local ok, failure = pcall(drive)
if not ok then report.failure = tostring(failure) end
vim.fn.writefile({ vim.json.encode(report) }, vim.env.GRADSENSE_TEST_REPORT)
vim.cmd('qall!')
