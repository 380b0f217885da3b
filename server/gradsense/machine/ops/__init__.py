"""What every torch op does to autograd's books: parameters, views, writes, and what it saves for backward."""
